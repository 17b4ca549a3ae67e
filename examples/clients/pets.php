<?php
// PHP 8 with its extension curl. See docs/languages.md.

function send(string $url, ?array $body = null): array
{
    static $curl;
    $curl ??= curl_init();
    $headers = ["Authorization: Bearer " . getenv("KEY"), "Content-Type: application/json"];
    $key = getenv("IDEMPOTENCY_KEY");
    if ($body && $key) $headers[] = "Idempotency-Key: $key";
    $link = null;
    curl_reset($curl);
    curl_setopt_array($curl, [CURLOPT_URL => $url, CURLOPT_HTTPHEADER => $headers, CURLOPT_RETURNTRANSFER => true]);
    if ($body) curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
    curl_setopt($curl, CURLOPT_HEADERFUNCTION, function ($curl, $line) use (&$link) {
        if (preg_match('/^link:.*<([^>]*)>; rel="next"/i', $line, $found)) $link = $found[1];
        return strlen($line);
    });
    $text = curl_exec($curl);
    return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), json_decode($text, true), $link];
}

$base = getenv("BASE") . "/pets";
$query = implode("&", array_map(fn($id) => "id=$id", explode(" ", getenv("IDS"))));
echo "found ", count(send("$base?$query")[1]), "\n";

$count = 0;
for ($url = "$base?limit=2"; $url;) {
    [, $page, $url] = send($url);
    $count += count($page);
}
echo "paged $count\n";

function verify(string $content, string $signatures, string $secret): bool
{
    $mac = base64_encode(hash_hmac("sha256", $content, base64_decode(substr($secret, 6)), true));
    return array_filter(explode(" ", $signatures), fn($one) => hash_equals("v1,$mac", $one)) !== [];
}
[$content, $signatures, $secret] = array_map("getenv", ["CONTENT", "SIGNATURES", "SECRET"]);
$verified = [verify($content, $signatures, $secret), verify("$content ", $signatures, $secret)];
echo "verified ", implode(" ", array_map("json_encode", $verified)), "\n";

[$status, $animal] = send($base, ["name" => "Žofie", "categoryId" => PHP_INT_MAX]);
echo "created $status ", $animal["categoryId"] ?? "", "\n";
