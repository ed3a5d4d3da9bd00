/**
 * The HTTP contract of the sandbox's e-mail service: the part of Postmark's API that Payonce uses (Postmark's
 * documentation: "Email API", "Messages API", "Server API", "API error codes"). It sends nothing and stores every
 * e-mail, so that tests can count them. JSON over plain HTTP.
 *
 *   POST /email                               SendEmail → 200 SentEmail | 422 EmailError
 *   GET  /messages/outbound?count=&offset=    EmailSearch, newest first; `count` 1 to 500 and `offset` 0 to 10000, both
 *                                             required, and one or more of `tag`, `recipient`, `metadata_<name>`.
 *                                             TotalCount counts the matching e-mails on all pages
 *   GET  /messages/outbound/{id}/details      EmailDetails, with its text | 404
 *   GET  /server                              200 { "ID": 1, "Name": "Sandbox" }; a read, used as the breaker's probe
 *
 * Every call needs the header `X-Postmark-Server-Token` with the sandbox's secret (any value if the sandbox has none);
 * without it, the response is 401. Like Postmark, it does not deduplicate: two equal requests are two e-mails. Unlike
 * Postmark's, its search is strongly consistent and requires a filter, and e-mails are kept permanently.
 *
 * EmailError codes: 10 without a token (401), 300 `Invalid email request` naming the field, 402 `Invalid JSON`, 406 an
 * inactive recipient, 412 the account is pending approval, 600 an invalid search. Bodies of 404 and 405 are a
 * ProcessorError, as at the sandbox processor.
 *
 * Magic recipients, for tests and demonstrations, at any domain. `first` is the first send of an e-mail, which is
 * identified by its recipient and its metadata; without metadata, every send counts as a first send.
 *
 * | recipient   | first send                           | later sends |
 * |-------------|--------------------------------------|-------------|
 * | `timeout@…` | sent, no response for 15 s, then 504 | sent, 200   |
 * | `flaky@…`   | not sent, 500                        | sent, 200   |
 * | `account@…` | not sent, 422 with code 412          | sent, 200   |
 * | `down@…`    | not sent, 503                        | the same    |
 * | `bounce@…`  | not sent, 422 with code 406          | the same    |
 */

export interface SendEmail {
  readonly From: string;
  /** One address. */
  readonly To: string;
  readonly Subject: string;
  readonly TextBody: string;
  readonly Tag?: string;
  /** At most ten entries; names up to 20 characters, values up to 80. */
  readonly Metadata?: Readonly<Record<string, string>>;
  readonly Headers?: readonly { readonly Name: string; readonly Value: string }[];
  readonly MessageStream?: string;
}

export interface SentEmail {
  readonly To: string;
  /** ISO 8601. */
  readonly SubmittedAt: string;
  readonly MessageID: string;
  readonly ErrorCode: 0;
  readonly Message: 'OK';
}

export interface EmailOutline {
  readonly MessageID: string;
  readonly From: string;
  readonly To: readonly { readonly Email: string; readonly Name: null }[];
  readonly Recipients: readonly string[];
  readonly Subject: string;
  /** Empty when the e-mail has no tag. */
  readonly Tag: string;
  readonly Metadata: Readonly<Record<string, string>>;
  readonly MessageStream: string;
  readonly Status: 'Sent';
  /** ISO 8601. */
  readonly ReceivedAt: string;
}

export interface EmailSearch {
  readonly TotalCount: number;
  readonly Messages: readonly EmailOutline[];
}

export interface EmailDetails extends EmailOutline {
  readonly TextBody: string;
}

export interface EmailError {
  readonly ErrorCode: number;
  readonly Message: string;
}
