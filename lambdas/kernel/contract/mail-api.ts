/**
 * The HTTP contract of an e-mail service beside the sandbox processor. It speaks the dialect of Postmark (its documentation:
 * "Email API", "Messages API", "Server API", "API error codes"), as far as it is used here, and sends nothing: it keeps
 * what it was asked to send, so that every e-mail can be counted at its owner. JSON over plain HTTP.
 *
 *   POST /email                               SendEmail → 200 SentEmail | 422 EmailError
 *   GET  /messages/outbound?count=&offset=    EmailSearch, newest first; `count` 1 to 500, `offset` from 0, both required,
 *                                             and of these one or more: `tag`, `recipient`, `metadata_<name>`. TotalCount
 *                                             is how many there are, whatever the page
 *   GET  /messages/outbound/{id}/details      EmailDetails, with its text | 404
 *   GET  /server                              200 { "ID": 1, "Name": "Sandbox" }; a read, used as the breaker's probe
 *
 * Every call carries the header `X-Postmark-Server-Token`; any value is taken, none is 401. As with Postmark there is
 * nothing against doubles: two equal requests are two e-mails. Unlike with Postmark, the search is strong (what was answered
 * is there), lists nothing without a filter, and nothing is ever forgotten.
 *
 * EmailError codes: 10 without a token (401), 300 `Invalid email request` naming the field, 402 `Invalid JSON`, 406 an
 * inactive recipient, 412 the account may not send yet, 600 a search that is not understood.
 * 404 and 405 have the processor's form.
 *
 * Magic recipients, for tests and demonstrations, at any domain. `first` is the first send of an e-mail, which is known by
 * its recipient and its metadata; without metadata, every send is a first one.
 *
 * | recipient   | first send                         | later sends |
 * |-------------|------------------------------------|-------------|
 * | `timeout@…` | sent, no answer for 15 s, then 504 | sent, 200   |
 * | `flaky@…`   | not sent, 500                      | sent, 200   |
 * | `account@…` | not sent, 422 with code 412        | sent, 200   |
 * | `down@…`    | not sent, 503                      | the same    |
 * | `bounce@…`  | not sent, 422 with code 406        | the same    |
 */
export interface SendEmail {
  readonly From: string;
  /** One address. */
  readonly To: string;
  readonly Subject: string;
  readonly TextBody: string;
  readonly Tag?: string;
  /** At most ten; names to 20 characters, values to 80. */
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

/** As the search shows it. */
export interface EmailOutline {
  readonly MessageID: string;
  readonly From: string;
  readonly To: readonly { readonly Email: string; readonly Name: null }[];
  readonly Recipients: readonly string[];
  readonly Subject: string;
  /** Empty when it has none. */
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

/** Postmark's token for trying its API out; the sandbox takes any. */
export const ANY_POSTMARK_TOKEN = 'POSTMARK_API_TEST';
