import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { Reply } from './reply.ts';

const STYLE = `
body { font: 1.125rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto; max-width: 32rem; padding: 0 1rem }
dt { font-weight: 600 } dd { margin: 0 0 0.75rem; overflow-wrap: anywhere }
button { font: inherit; padding: 0.5rem 1.5rem; margin: 0.5rem 0.5rem 0 0; border: 2px solid #1a1a1a; border-radius: 0.25rem; background: #fff; color: inherit }
button:first-child { background: #1a1a1a; color: #fff }
:focus-visible { outline: 3px solid #0a58ca; outline-offset: 2px }
`;

/** Allows only this style, and forms that post to the page's own origin. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function questionPage(charge: Charge): Promise<Reply> {
  return page(
    200,
    'Approve this payment?',
    html`${details(charge)}
<form method="post">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="refuse">Refuse</button>
</form>`,
  );
}

/** For a charge that no longer waits: the payer has decided, or the charge was voided or has expired. */
export function outcomePage(status: ContentfulStatusCode, title: string, charge: Charge): Promise<Reply> {
  return page(
    status,
    title,
    html`<p role="status">The charge is ${statusText(charge.status)}.</p>
${details(charge)}${returnLink(charge)}`,
  );
}

export function plainPage(status: ContentfulStatusCode, title: string, text: string): Promise<Reply> {
  return page(status, title, html`<p>${text}</p>`);
}

/** The template escapes all values. */
async function page(status: ContentfulStatusCode, title: string, content: unknown): Promise<Reply> {
  const body = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${raw(`<style>${STYLE}</style>`)}
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    body: String(body),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
      // With this policy, browsers send the page's own `Origin` with the form, as the local AWS requires. They send no
      // referrer to other sites.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    },
  };
}

/** An HTTP redirect in response to the form would be blocked by `form-action`. */
function returnLink({ return_url: url }: Charge) {
  return url === undefined
    ? ''
    : html`<p><a href="${url}">Back to the shop</a></p>
<meta http-equiv="refresh" content="3; url=${url}">`;
}

function details(charge: Charge) {
  return html`<dl>
<dt>Amount</dt><dd>${amountText(charge.amount, charge.currency)}</dd>
<dt>Payment</dt><dd>${charge.metadata['payment'] ?? 'not named'}</dd>
<dt>Charge</dt><dd>${charge.id}</dd>
</dl>`;
}

function statusText(status: Charge['status']): string {
  return status === 'requires_action' ? 'waiting for the payer' : status;
}

/**
 * Number of decimals of each currency that does not have two (ISO 4217, active codes without funds codes). Intl is not
 * used: its decimals follow common usage, for example zero for HUF or IQD.
 */
const DECIMALS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
]);

/** Intl receives a decimal string, because a float cannot represent every amount. */
function amountText(amountMinor: number, currency: string): string {
  const decimals = DECIMALS.get(currency) ?? 2;
  const digits = String(amountMinor).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const decimal = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(decimal as Intl.StringNumericLiteral);
}
