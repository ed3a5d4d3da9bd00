import type { EmailDetails, EmailOutline } from './mail-api.ts';

/** E-mails never expire. */
export interface MailBooks {
  addEmail(email: EmailDetails): Promise<void>;
  email(id: string): Promise<EmailDetails | undefined>;
  /** Lists e-mails by time, then by id. */
  emailsLabelled(label: EmailLabel): Promise<readonly EmailOutline[]>;
}

/** For example `tag=receipt`, `recipient=ada@example.com` or `metadata_order=ord_1`. */
export type EmailLabel = `${'tag' | 'recipient' | `metadata_${string}`}=${string}`;

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

export function placeOf({ ReceivedAt, MessageID }: EmailOutline): string {
  return `${ReceivedAt}#${MessageID}`;
}
