// C# on Mono 6.8 with Newtonsoft.Json. See docs/languages.md.
using System;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

class Animal {
  [JsonProperty("name")] public string Name;
  [JsonProperty("categoryId")] public long CategoryId;
}

class Pets {
  static string Env(string name) { return Environment.GetEnvironmentVariable(name); }

  static void Main() {
    var url = Env("BASE") + "/pets";
    var client = new HttpClient();
    client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Env("KEY"));

    var query = string.Join("&", Env("IDS").Split(' ').Select(id => "id=" + id));
    Console.WriteLine("found {0}", JArray.Parse(client.GetStringAsync(url + "?" + query).Result).Count);

    var count = 0;
    for (var next = url + "?limit=2"; next != "";) {
      var page = client.GetAsync(next).Result;
      count += JArray.Parse(page.Content.ReadAsStringAsync().Result).Count;
      var link = page.Headers.Contains("Link") ? string.Join(", ", page.Headers.GetValues("Link")) : "";
      next = Regex.Match(link, "<([^>]*)>; rel=\"next\"").Groups[1].Value;
    }
    Console.WriteLine("paged {0}", count);

    Console.WriteLine("verified {0} {1}", Verify(Env("CONTENT")), Verify(Env("CONTENT") + " "));

    var text = JsonConvert.SerializeObject(new Animal { Name = "\u017dofie", CategoryId = long.MaxValue });
    var post = new HttpRequestMessage(HttpMethod.Post, url) { Content = new StringContent(text, Encoding.UTF8, "application/json") };
    if (Env("IDEMPOTENCY_KEY") != null) post.Headers.Add("Idempotency-Key", Env("IDEMPOTENCY_KEY"));
    var created = client.SendAsync(post).Result;
    var animal = JsonConvert.DeserializeObject<Animal>(created.Content.ReadAsStringAsync().Result);
    Console.WriteLine("created {0} {1}", (int) created.StatusCode, animal.CategoryId);
  }

  static string Verify(string content) {
    var (signatures, secret) = (Env("SIGNATURES"), Env("SECRET"));
    var mac = new HMACSHA256(Convert.FromBase64String(secret.Substring(6))).ComputeHash(Encoding.UTF8.GetBytes(content));
    return signatures.Split(' ').Contains("v1," + Convert.ToBase64String(mac)) ? "true" : "false";
  }
}
