# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

require "mkmf"

abort "rip: this binding is for Ruby 3.1, not #{RUBY_VERSION}" unless RUBY_VERSION.start_with?("3.1.")
abort "rip: librip.pc not found: install librip-dev, or set PKG_CONFIG_PATH" unless pkg_config("librip")
$CFLAGS << " -D_GNU_SOURCE -fvisibility=hidden"
create_makefile("rip/rip")
