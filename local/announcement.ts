import type { LocalAws } from './local-aws.ts';

export function announcement(aws: LocalAws): string {
  return `
Payonce is running on this machine.

  API      ${aws.apiUrl}
  Docs     ${aws.apiUrl}/docs
  Console  ${aws.apiUrl}/console${aws.lab === undefined ? '' : `\n  Lab      ${aws.lab.url}`}
  Sandbox  ${aws.sandboxUrl}${aws.postgres === undefined ? '' : `\n  Database ${aws.postgres.url}`}
  API key  ${aws.apiKey}
  (.payonce/local.json contains these values, the sandbox's secret and an operator's key)

Create a payment. Run the command twice: there is one charge.

${curlLine(aws)}

201 and 402 are final. After 202, read the payment at its Location until its status is no longer processing; in
requires_action, open its next_action.url. After 429, 503, 409 with Retry-After or no answer, run the same command
again: its key makes it the same payment.
`;
}

export function curlLine({ apiUrl, apiKey }: Pick<LocalAws, 'apiUrl' | 'apiKey'>): string {
  return [
    `curl -i -X POST '${apiUrl}/v1/payments'`,
    `-H 'Authorization: Bearer ${apiKey}'`,
    `-H 'Idempotency-Key: my-first-payment'`,
    `-H 'Content-Type: application/json'`,
    `-d '{"amount":1000,"currency":"EUR","source":"tok_ok"}'`,
  ].join(' ');
}
