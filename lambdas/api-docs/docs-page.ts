import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import { MEANINGS } from './problem-meanings.ts';

/**
 * Returns the page that renders the API description. The documentation function serves all files of the page, and all
 * URLs are relative, so that the page works under every host, stage and prefix.
 *
 * @param base relative path from the page's own address to the assets: `docs/` for `/docs`, empty for `/docs/`
 */
export function docsPage(base: 'docs/' | ''): string {
  const description = `${base === '' ? '../' : ''}v1/openapi.json`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payonce API</title>
<link rel="stylesheet" href="${base}swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="api" data-description="${description}">
<p>This page shows the description of the API, which is at <a href="${description}">v1/openapi.json</a>. It needs
JavaScript and the file <a href="${base}start.js">start.js</a>.</p>
<p id="failure" role="alert"></p>
</div>
<script id="renderer" src="${base}swagger-ui-bundle.js"></script>
<script src="${base}start.js"></script>
</body>
</html>
`;
}

/**
 * The script is a separate file, because the page allows no inline scripts. The renderer itself shows no samples, so a
 * plugin shows them below the parameters of each operation. If the renderer was not loaded, the script requests the
 * renderer's file again, and shows why the file cannot be used.
 */
export const START_SCRIPT = `const element = document.getElementById('api');
const samples = () => ({
  wrapComponents: {
    parameters: (Parameters, { React }) => (props) => {
      const found = props.operation.get('x-codeSamples')?.toJS() ?? [];
      const shown = found.map(({ label, source }) => React.createElement('details', { key: label, className: 'sample' },
        React.createElement('summary', null, label),
        React.createElement('pre', { className: 'example microlight', tabIndex: 0 }, source)));
      return React.createElement('div', null, React.createElement(Parameters, props), ...shown);
    },
  },
});
const explain = async () => {
  const { src } = document.getElementById('renderer');
  const reason = await fetch(src, { cache: 'reload' }).then(
    async ({ ok, status, url }) => {
      if (!ok) return 'The server responded with ' + status + '.';
      return 'The file was loaded, but this browser did not run it. Reload the page, or use a newer browser.';
    },
    (error) => 'The request failed (' + error.message + '). Is the server running? Does an extension block it?',
  );
  document.getElementById('failure').textContent = 'The file ' + src + ' could not be used. ' + reason;
};
if (typeof SwaggerUIBundle === 'undefined') explain();
else SwaggerUIBundle({
  domNode: element,
  url: new URL(element.dataset.description, location.href).href,
  deepLinking: true,
  validatorUrl: null,
  plugins: [samples],
});
`;

/** Returns the page that explains each problem. The `type` of a problem is a link to its entry. */
export function problemsPage(): string {
  const entries = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) =>
      `<h2 id="${code}">${code}</h2>\n<p>${status} ${escaped(title)}. ${escaped(MEANINGS[code as ProblemCode])}</p>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Problems of the Payonce API</title>
<link rel="icon" href="data:,">
<style>body { font: 16px/1.5 sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem } :target { background: #ff9 }</style>
</head>
<body>
<h1>Problems of the Payonce API</h1>
<p>Each error has a stable <code>code</code>. <a href="../docs">All operations</a> ·
<a href="../v1/openapi.json">OpenAPI document</a></p>
${entries.join('\n')}
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The renderer needs inline styles, and icons from `data:` URLs. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
