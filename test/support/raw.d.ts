/** A file as text, because a test inside workerd has no file system. */
declare module "*?raw" {
  const text: string;
  export default text;
}
