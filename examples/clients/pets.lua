-- Lua 5.4 with LuaSocket, dkjson and luaossl. See docs/languages.md.
local http, ltn12, mime = require("socket.http"), require("ltn12"), require("mime")
local json, hmac = require("dkjson"), require("openssl.hmac")

local function send(method, url, body)
  local parts, text = {}, body and json.encode(body)
  local headers = { Authorization = "Bearer " .. os.getenv("KEY"), ["Idempotency-Key"] = os.getenv("IDEMPOTENCY_KEY") }
  if text then headers["Content-Type"], headers["Content-Length"] = "application/json", #text end
  local source = text and ltn12.source.string(text)
  local _, status, answer = assert(
    http.request({ method = method, url = url, headers = headers, source = source, sink = ltn12.sink.table(parts) })
  )
  return status, json.decode(table.concat(parts)), answer.link
end

local base = os.getenv("BASE") .. "/pets"
local _, found = send("GET", base .. "?id=" .. os.getenv("IDS"):gsub(" ", "&id="))
print("found " .. #found)

local count, url = 0, base .. "?limit=2"
while url do
  local _, page, link = send("GET", url)
  count, url = count + #page, link and link:match('<([^>]*)>; rel="next"')
end
print("paged " .. count)

local function verify(content, signatures, secret)
  local mac = mime.b64(hmac.new(mime.unb64(secret:sub(7)), "sha256"):final(content))
  return (" " .. signatures .. " "):find(" v1," .. mac .. " ", 1, true) ~= nil
end
local content, signatures, secret = os.getenv("CONTENT"), os.getenv("SIGNATURES"), os.getenv("SECRET")
print(string.format("verified %s %s", verify(content, signatures, secret), verify(content .. " ", signatures, secret)))

local status, animal = send("POST", base, { name = "Žofie", categoryId = math.maxinteger })
print(string.format("created %s %s", status, animal.categoryId))
