# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# Notes for HTTP requests and SQL queries. This file is evaluated in the module Rip. Under `rip run` the module has no
# name unless the program requires it, so the constant RIP refers to it.
RIP = self

# Rack middleware: sets the note "GET /orders" during a request. In a Rails application:
#   config.middleware.insert 0, Rip::Rack
class Rack
  def initialize(app)
    @app = app
  end

  def call(env)
    RIP.note("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}") { @app.call(env) }
  end
end

# Subscriber for Rails: adds a query to the note while it runs, "GET /orders: SELECT ...". To use it, call
#   Rip::Notifications.attach
module Notifications
  @before = {}.compare_by_identity

  def self.start(_name, _id, payload)
    @before[payload] = RIP.note
    RIP.note([@before[payload], payload[:sql]].compact.join(": "))
  end

  def self.finish(_name, _id, payload)
    RIP.note(@before.delete(payload))
  end

  def self.attach
    ::ActiveSupport::Notifications.subscribe("sql.active_record", self)
  end
end

# Prepended to Puma's request class under `rip run`: does the same as the middleware, for any application.
module Puma
  def handle_request(client, *)
    RIP.note("#{client.env["REQUEST_METHOD"]} #{client.env["REQUEST_PATH"]}") { super }
  end

  def self.attach
    ::Puma::Request.prepend(self)
  end
end
