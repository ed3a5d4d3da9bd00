import { defined } from '../kernel/defined.ts';
import { AmbiguousError } from '../kernel/faults.ts';
import { namedPayment } from '../payments/domain/processor-charge.ts';
import type { UnreadableCharge } from '../payments/use/processor.ts';

interface ListedCharge {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** @param cause the error that names the unreadable part */
export function unreadableCharge({ id, created, metadata }: ListedCharge, cause: AmbiguousError): UnreadableCharge {
  const paymentId = namedPayment(textsOf(metadata));
  const fault = new AmbiguousError(cause.code, `The charge ${id} cannot be read.`, { cause });
  return { chargeId: id, ...defined({ paymentId }), createdAtSeconds: created, fault };
}

function textsOf(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
