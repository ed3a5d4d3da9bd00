import type { EmailDetails, EmailOutline } from './mail-api.ts';

/** Stores sent e-mails and finds them by their labels. E-mails never expire. */
export interface MailBooks {
  addEmail(email: EmailDetails): Promise<void>;
  email(id: string): Promise<EmailDetails | undefined>;
  /** Lists e-mails by time, then by id. */
  emailsLabelled(label: EmailLabel): Promise<readonly EmailOutline[]>;
}

/** A search filter: `tag=receipt`, `recipient=ada@example.com` or `metadata_order=ord_1`. */
export type EmailLabel = `${'tag' | 'recipient' | `metadata_${string}`}=${string}`;

/** Returns all labels by which an e-mail can be found. */
export function labelsOf({ Tag, Recipients, Metadata }: EmailOutline): readonly EmailLabel[] {
  return [
    ...(Tag === '' ? [] : [`tag=${Tag}` as const]),
    ...Recipients.map((recipient) => `recipient=${recipient}` as const),
    ...Object.entries(Metadata).map(([name, value]) => `metadata_${name}=${value}` as const),
  ];
}

export function outlineOf({ TextBody: _text, ...outline }: EmailDetails): EmailOutline {
  return outline;
}

/** Returns a sort key of the e-mail: by time, then by id. */
export function placeOf({ ReceivedAt, MessageID }: EmailOutline): string {
  return `${ReceivedAt}#${MessageID}`;
}
