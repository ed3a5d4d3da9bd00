import type { Endpoint } from '../http/endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';

/** See llmstxt.org. URLs are relative to the root of the API. */
export function llmsText(): string {
  const groups = Map.groupBy(ENDPOINTS, ({ docs }) => docs.tag);
  const operations = [...groups].map(([tag, endpoints]) => `## ${tag}\n\n${endpoints.map(lineOf).join('\n')}`);
  return `# Payonce

> An API for payments that take effect exactly once, in the owner's AWS account.

- Choose one \`Idempotency-Key\` for each purchase, and store it before the request is sent. Send the same key and body
  until the answer is final. A new key is a new payment.
- 201 and 402 are final. 202: read the payment until it is not \`processing\`. 409 with
  \`idempotency_key_in_progress\`, 429, 5xx and no response: send the same request again, after \`Retry-After\`.
- Amounts are integers in minor units; times are Unix seconds. Requests with card numbers are refused.
- Errors are problem details (RFC 9457). Decide by \`code\`; \`type\` leads to its explanation.

## Documents

- [OpenAPI document](v1/openapi.json): each operation, with schemas, examples and samples in curl, TypeScript and Python
- [API reference](docs): the same document as a page
- [Problems](docs/problems): each error code, and what to do

${operations.join('\n\n')}
`;
}

function lineOf({ method, path, docs }: Endpoint<never, never>): string {
  return `- [${method} ${path}](docs#/${docs.tag}/${docs.operationId}): ${docs.summary}`;
}
