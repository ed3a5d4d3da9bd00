import type { EmailDetails } from '../lambdas/kernel/contract/mail-api.ts';
import { labelsOf, type MailBooks, outlineOf, placeOf } from './mail-books.ts';

/** Books in memory, for tests. */
export function createMemoryMailBooks(): MailBooks {
  const emails = new Map<string, EmailDetails>();
  return {
    addEmail: async (email) => {
      emails.set(email.MessageID, email);
    },
    email: async (id) => emails.get(id),
    emailsLabelled: async (label) =>
      [...emails.values()]
        .filter((email) => labelsOf(email).includes(label))
        .map(outlineOf)
        .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)),
  };
}
