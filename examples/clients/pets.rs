// Rust with ureq 2, serde_json, hmac, sha2 and base64. See docs/languages.md.
use hmac::{Hmac, Mac};
use serde_json::{json, Value};
use std::env::var;

fn send(request: ureq::Request, body: Option<Value>) -> (String, Value, Option<String>) {
    let mut request = request.set("Authorization", &format!("Bearer {}", var("KEY").unwrap()));
    let sent = match body {
        Some(body) => {
            if let Ok(key) = var("IDEMPOTENCY_KEY") {
                request = request.set("Idempotency-Key", &key);
            }
            request.send_json(body)
        }
        None => request.call(),
    };
    match sent {
        Ok(response) | Err(ureq::Error::Status(_, response)) => {
            let link = response.header("Link").and_then(next);
            (response.status().to_string(), response.into_json().unwrap(), link)
        }
        Err(lost) => panic!("{lost}"),
    }
}

fn next(link: &str) -> Option<String> {
    let (before, _) = link.split_once(">; rel=\"next\"")?;
    Some(before.rsplit_once('<')?.1.into())
}

fn verify(content: &str, signatures: &str, secret: &str) -> bool {
    let key = base64::decode(secret.trim_start_matches("whsec_")).unwrap();
    let mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap().chain_update(content);
    let expected = format!("v1,{}", base64::encode(mac.finalize().into_bytes()));
    signatures.split(' ').any(|one| one == expected)
}

fn main() {
    let agent = ureq::agent();
    let base = var("BASE").unwrap() + "/pets";
    let ids = var("IDS").unwrap();
    let asked = ids.split(' ').fold(agent.get(&base), |request, id| request.query("id", id));
    println!("found {}", send(asked, None).1.as_array().unwrap().len());

    let (mut count, mut url) = (0, Some(format!("{base}?limit=2")));
    while let Some(address) = url {
        let (_, page, link) = send(agent.get(&address), None);
        count += page.as_array().unwrap().len();
        url = link;
    }
    println!("paged {count}");

    let [content, signatures, secret] = ["CONTENT", "SIGNATURES", "SECRET"].map(|name| var(name).unwrap());
    let verified = [content.clone(), content + " "].map(|text| verify(&text, &signatures, &secret));
    println!("verified {} {}", verified[0], verified[1]);

    let (status, animal, _) = send(agent.post(&base), Some(json!({"name": "Žofie", "categoryId": i64::MAX})));
    println!("created {status} {}", animal["categoryId"]);
}
