# Ruby 3.1 or later, without gems. See docs/languages.md.
require "json"
require "net/http"
require "openssl"

BASE = "#{ENV["BASE"]}/pets"
HEADERS = { "Authorization" => "Bearer #{ENV["KEY"]}", "Content-Type" => "application/json" }

found = URI("#{BASE}?#{URI.encode_www_form(id: ENV["IDS"].split)}")
puts "found #{JSON.parse(Net::HTTP.get(found, HEADERS)).size}"

count = 0
url = URI("#{BASE}?limit=2")
while url
  page = Net::HTTP.get_response(url, HEADERS)
  count += JSON.parse(page.body).size
  url = page["Link"]&.slice(/<([^>]*)>; rel="next"/, 1)&.then { |text| URI(text) }
end
puts "paged #{count}"

def verify(content, signatures, secret)
  mac = OpenSSL::HMAC.base64digest("SHA256", secret.delete_prefix("whsec_").unpack1("m"), content)
  signatures.split.any? { |one| OpenSSL.secure_compare(one, "v1,#{mac}") }
end
content, signatures, secret = ENV.values_at("CONTENT", "SIGNATURES", "SECRET")
puts "verified #{verify(content, signatures, secret)} #{verify("#{content} ", signatures, secret)}"

key = { "Idempotency-Key" => ENV["IDEMPOTENCY_KEY"] }.compact
created = Net::HTTP.post(URI(BASE), { name: "Žofie", categoryId: 2**63 - 1 }.to_json, HEADERS.merge(key))
puts "created #{created.code} #{JSON.parse(created.body)["categoryId"]}"
