/**
 * The page that renders the API's description. This function serves all files of the page, and all addresses are
 * relative, so that the page works under every host, stage and prefix.
 *
 * @param base relative path from the page's own address to the assets: `docs/` for `/docs`, empty for `/docs/`
 */
export function docsPage(base: 'docs/' | ''): string {
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
<div id="api" data-description="${base === '' ? '../' : ''}v1/openapi.json"></div>
<noscript>The description of the API is at <a href="${base === '' ? '../' : ''}v1/openapi.json">v1/openapi.json</a>.</noscript>
<script src="${base}swagger-ui-bundle.js"></script>
<script src="${base}start.js"></script>
</body>
</html>
`;
}

/** Script that starts the page. It is a separate file, because the page allows no inline script. */
export const START_SCRIPT = `const element = document.getElementById('api');
SwaggerUIBundle({
  domNode: element,
  url: new URL(element.dataset.description, location.href).href,
  deepLinking: true,
  validatorUrl: null,
});
`;

/** Allows only files of this origin. The renderer also needs styles on elements, and icons from `data:` URLs. */
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
