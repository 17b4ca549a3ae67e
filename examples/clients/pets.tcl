# Tcl 8.6 with Tcllib. See docs/languages.md.
package require http
package require json
package require json::write
package require sha256
package require base64

proc send {url {body ""}} {
  global env
  set headers [list Authorization "Bearer $env(KEY)"]
  set options {}
  if {$body ne ""} {
    if {[info exists env(IDEMPOTENCY_KEY)]} { lappend headers Idempotency-Key $env(IDEMPOTENCY_KEY) }
    # http::geturl sends the low byte of each character.
    set options [list -type application/json -query [encoding convertto utf-8 $body]]
  }
  set token [http::geturl $url -headers $headers {*}$options]
  set link ""
  foreach {name value} [http::meta $token] {
    if {[string equal -nocase $name link]} { regexp {<([^>]*)>; rel="next"} $value -> link }
  }
  set text [encoding convertfrom utf-8 [http::data $token]]
  return [list [http::ncode $token] [json::json2dict $text] $link]
}

set base $env(BASE)/pets
lassign [send $base?[http::formatQuery {*}[concat {*}[lmap id $env(IDS) { list id $id }]]]] status found
puts "found [llength $found]"

set count 0
for {set url $base?limit=2} {$url ne ""} {} {
  lassign [send $url] status page url
  incr count [llength $page]
}
puts "paged $count"

proc verify {content signatures secret} {
  set mac [base64::encode -maxlen 0 [sha2::hmac -bin -key [base64::decode [string range $secret 6 end]] $content]]
  return [expr {"v1,$mac" in $signatures ? "true" : "false"}]
}
set content [encoding convertto utf-8 $env(CONTENT)]
puts "verified [verify $content $env(SIGNATURES) $env(SECRET)] [verify "$content " $env(SIGNATURES) $env(SECRET)]"

set body [json::write object name [json::write string "\u017dofie"] categoryId 9223372036854775807]
lassign [send $base $body] status animal
puts "created $status [dict get [dict merge {categoryId ""} $animal] categoryId]"
