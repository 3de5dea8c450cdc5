# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "rip"
  spec.version = "1.0.0"
  spec.summary = "Shows which thread or fiber of a Ruby program is stuck, and where"
  spec.authors = ["librip maintainers"]
  spec.license = "Apache-2.0"
  spec.required_ruby_version = "~> 3.1.0"
  spec.files = Dir["lib/**/*.rb", "ext/**/*.{c,h,rb}", "README.md"]
  spec.extensions = ["ext/rip/extconf.rb"]
end
