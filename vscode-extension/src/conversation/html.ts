// The page of the conversation. Nothing is loaded but our own scripts and style, and nothing inline runs or styles. A worker
// is begun only from what such a script holds.

/** Where the page's parts are, and who may be trusted with them. */
export interface PageParts {
  /** Of style sheets, as the webview names its own resources. */
  readonly source: string;
  /** Fresh for each page. */
  readonly nonce: string;
  readonly script: string;
  readonly style: string;
  /** BCP 47. */
  readonly language: string;
  readonly title: string;
}

/** The document. */
export function pageHtml({ source, nonce, script, style, language, title }: PageParts): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; worker-src blob:; style-src ${source};`;
  return `<!DOCTYPE html>
<html lang="${escaped(language)}">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${escaped(policy)}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="stylesheet" href="${escaped(style)}" />
    <title>${escaped(title)}</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" nonce="${escaped(nonce)}" src="${escaped(script)}"></script>
  </body>
</html>
`;
}

/** A word that nobody can guess. */
export function newNonce(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
