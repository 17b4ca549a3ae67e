/** The key that every local service accepts. It is public on purpose: no other environment accepts a key of this form. */
export const LOCAL_API_KEY = "petstore_local_LocalDevelopmentOnlyNotASecret49Y71h";
/** Signs the customer tokens of every local service, and is public on purpose too. */
export const LOCAL_TOKEN_SECRET = "LocalDevelopmentOnlyNotASecretOfTokens";
