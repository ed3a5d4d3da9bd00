import * as z from 'zod';
import { type DynamoDbAccess, pointersAt, read, transact } from './dynamodb-requests.ts';
import type { EmailDetails, EmailOutline } from './mail-api.ts';
import { type EmailLabel, labelsOf, type MailBooks, outlineOf, placeOf } from './mail-books.ts';

/**
 * Rows in the sandbox's table:
 *
 *   pk                   sk                  what
 *   EMAIL#<id>           EMAIL               an e-mail with its text
 *   EMAIL_LABEL#<label>  EMAIL#<time>#<id>   its outline, so that a search is one query
 */
const rowKey = {
  email: (id: string) => ({ pk: `EMAIL#${id}`, sk: 'EMAIL' }),
  labelled: (label: EmailLabel, place: string) => ({ pk: `EMAIL_LABEL#${label}`, sk: `${EMAIL_PREFIX}${place}` }),
};

const EMAIL_PREFIX = 'EMAIL#';

const outline = z.object({
  MessageID: z.string(),
  From: z.string(),
  To: z.array(z.object({ Email: z.string(), Name: z.null() })),
  Recipients: z.array(z.string()),
  Subject: z.string(),
  Tag: z.string(),
  Metadata: z.record(z.string(), z.string()),
  MessageStream: z.string(),
  Status: z.literal('Sent'),
  ReceivedAt: z.string(),
}) satisfies z.ZodType<EmailOutline>;

const emailItem = z.object({ email: outline.extend({ TextBody: z.string() }) satisfies z.ZodType<EmailDetails> });
const outlineItem = z.object({ outline });

export function mailBooks(access: DynamoDbAccess): MailBooks {
  const put = (row: object) => ({ Put: { TableName: access.tableName, Item: row } });
  return {
    addEmail: async (email) => {
      const found = outlineOf(email);
      await transact(access, [
        put({ ...rowKey.email(email.MessageID), email }),
        ...labelsOf(email).map((label) => put({ ...rowKey.labelled(label, placeOf(email)), outline: found })),
      ]);
    },
    email: async (id) => (await read(access, rowKey.email(id), emailItem))?.email,
    emailsLabelled: async (label) => {
      const found = await pointersAt(access, rowKey.labelled(label, '').pk, EMAIL_PREFIX, outlineItem);
      return found.map((row) => row.outline);
    },
  };
}
