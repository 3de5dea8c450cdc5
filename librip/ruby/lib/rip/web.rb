# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# Notes of requests and queries. This is evaluated in the module Rip, which has no name under `rip run` unless the program
# requires it: RIP stands for it.
RIP = self

# Middleware: the note of a request is "GET /orders". In a Rails application: config.middleware.insert 0, Rip::Rack
class Rack
  def initialize(app)
    @app = app
  end

  def call(env)
    RIP.note("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}") { @app.call(env) }
  end
end

# Subscriber: a query is added to the note, "GET /orders: SELECT ...". Rip::Notifications.attach
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

# What puma's own class is given under `rip run`: the same as the middleware, for any application.
module Puma
  def handle_request(client, *)
    RIP.note("#{client.env["REQUEST_METHOD"]} #{client.env["REQUEST_PATH"]}") { super }
  end

  def self.attach
    ::Puma::Request.prepend(self)
  end
end
