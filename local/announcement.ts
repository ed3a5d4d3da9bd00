import type { LocalAws } from './local-aws.ts';

/** What a person needs to take the first payment. */
export function announcement(aws: LocalAws): string {
  return `
Payonce runs on this machine.

  API      ${aws.apiUrl}
  Docs     ${aws.apiUrl}/docs
  Sandbox  ${aws.sandboxUrl}
  API key  ${aws.apiKey}
  (all of it, and an operator's key: .payonce/local.json)

Take a payment; run it twice, and it is still one:

${curlLine(aws)}
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
