# SPDX-License-Identifier: Apache-2.0
# A Rails application in one file, without knowledge of rip. SILENT has the port of a server that never answers,
# DATABASE the path of a database.
require "action_controller/railtie"
require "active_record"

class Shop < Rails::Application
  config.eager_load = false
  config.secret_key_base = "0" * 40
  config.logger = Logger.new(IO::NULL)
  config.hosts.clear
  routes.append do
    %w[fast query lock held spin sql].each { |name| get "/#{name}" => "orders##{name}" }
  end
end

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ENV["DATABASE"], pool: 16)

class Order < ActiveRecord::Base
end

class OrdersController < ActionController::Base
  LOCK = Mutex.new

  def fast = render(plain: "fast")

  def query
    render plain: ask("SELECT 1")
  end

  def held
    LOCK.synchronize { sleep }
  end

  def lock
    LOCK.synchronize { render plain: "lock" }
  end

  def spin
    loop { 1 }
  end

  # A slow query of Active Record.
  def sql
    ActiveRecord::Base.connection.raw_connection.create_function("slow", 0) { |function| function.result = ask("") }
    render plain: Order.find_by_sql("SELECT slow() AS id").to_s
  end

  private

  def ask(text)
    connection = TCPSocket.new("127.0.0.1", ENV["SILENT"].to_i)
    connection.puts(text)
    connection.gets
  end
end

Shop.initialize!
run Shop
