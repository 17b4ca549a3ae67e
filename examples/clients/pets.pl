# Perl 5.14 or later, without packages. See docs/languages.md.
use strict;
use warnings;
use utf8;
use Digest::SHA qw(hmac_sha256);
use HTTP::Tiny;
use JSON::PP;
use MIME::Base64;

my $http = HTTP::Tiny->new(default_headers => { Authorization => "Bearer $ENV{KEY}" });
my $base = "$ENV{BASE}/pets";

my $query = $http->www_form_urlencode({ id => [split / /, $ENV{IDS}] });
print "found ", scalar @{ decode_json($http->get("$base?$query")->{content}) }, "\n";

my $count = 0;
for (my $url = "$base?limit=2"; $url;) {
  my $page = $http->get($url);
  $count += @{ decode_json($page->{content}) };
  ($url) = ($page->{headers}{link} // "") =~ /<([^>]*)>; rel="next"/;
}
print "paged $count\n";

sub verify {
  my ($content, $signatures, $secret) = @_;
  my $mac = encode_base64(hmac_sha256($content, decode_base64(substr $secret, 6)), "");
  return grep({ $_ eq "v1,$mac" } split / /, $signatures) ? "true" : "false";
}
print join(" ", "verified", map { verify($_, $ENV{SIGNATURES}, $ENV{SECRET}) } $ENV{CONTENT}, "$ENV{CONTENT} "), "\n";

my %headers = ("Content-Type" => "application/json");
$headers{"Idempotency-Key"} = $ENV{IDEMPOTENCY_KEY} if $ENV{IDEMPOTENCY_KEY};
my $body = encode_json({ name => "Žofie", categoryId => 9223372036854775807 });
my $created = $http->post($base, { headers => \%headers, content => $body });
print "created $created->{status} ", decode_json($created->{content})->{categoryId} // "", "\n";
