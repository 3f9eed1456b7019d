// A script that is bundled by itself, as a text: see bundles.mjs.
declare module "*?text" {
  const source: string;
  export default source;
}
