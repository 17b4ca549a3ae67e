// Java 17 with Gson: java -cp gson.jar Pets.java. See docs/languages.md.
import com.google.gson.Gson;
import com.google.gson.JsonArray;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Pets {
  record Animal(String name, long categoryId) {}

  static final String BASE = System.getenv("BASE") + "/pets";
  static final Gson GSON = new Gson();
  static final HttpClient CLIENT = HttpClient.newHttpClient();
  static final Pattern NEXT = Pattern.compile("<([^>]*)>; rel=\"next\"");

  public static void main(String[] arguments) throws Exception {
    String query = Arrays.stream(System.getenv("IDS").split(" ")).map(id -> "id=" + id).collect(Collectors.joining("&"));
    System.out.println("found " + page(get(BASE + "?" + query)).size());

    int count = 0;
    for (String url = BASE + "?limit=2"; url != null; ) {
      var response = get(url);
      count += page(response).size();
      var link = NEXT.matcher(response.headers().firstValue("Link").orElse(""));
      url = link.find() ? link.group(1) : null;
    }
    System.out.println("paged " + count);

    String content = System.getenv("CONTENT"), signatures = System.getenv("SIGNATURES"), secret = System.getenv("SECRET");
    System.out.println("verified " + verify(content, signatures, secret) + " " + verify(content + " ", signatures, secret));

    String body = GSON.toJson(new Animal("\u017dofie", Long.MAX_VALUE));
    var post = request(BASE).header("Content-Type", "application/json").POST(BodyPublishers.ofString(body));
    String key = System.getenv("IDEMPOTENCY_KEY");
    if (key != null) post.header("Idempotency-Key", key);
    var created = CLIENT.send(post.build(), BodyHandlers.ofString());
    System.out.println("created " + created.statusCode() + " " + GSON.fromJson(created.body(), Animal.class).categoryId());
  }

  static HttpRequest.Builder request(String url) {
    return HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + System.getenv("KEY"));
  }

  static HttpResponse<String> get(String url) throws Exception {
    return CLIENT.send(request(url).build(), BodyHandlers.ofString());
  }

  static JsonArray page(HttpResponse<String> response) {
    return GSON.fromJson(response.body(), JsonArray.class);
  }

  static boolean verify(String content, String signatures, String secret) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring(6)), "HmacSHA256"));
    String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(content.getBytes("UTF-8")));
    return Arrays.stream(signatures.split(" ")).anyMatch(one -> MessageDigest.isEqual(expected.getBytes(), one.getBytes()));
  }
}
