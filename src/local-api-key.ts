/** The one key that every local service accepts. Public on purpose: no other environment takes a key of this form. */
export const LOCAL_API_KEY = "petstore_local_LocalDevelopmentOnlyNotASecret49Y71h";
