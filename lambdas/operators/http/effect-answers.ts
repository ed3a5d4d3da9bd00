import * as z from 'zod';
import { PAYMENT_STATUSES, TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { account, partList, posting } from '../../payments/http/payment-answers.ts';
import { payment, unixSeconds } from '../../payments/http/payment-objects.ts';

const paymentId = payment.shape.id;

const reasonErased = z.literal(true).exactOptional().meta({ description: 'The reason was erased.' });

export const correction = z
  .looseObject({
    id: z
      .string()
      .regex(/^cor_[a-z2-7]{32}$/)
      .meta({ example: 'cor_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('correction'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the correction’s own transition.' }),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    reverses: z.int().nullable().meta({
      description: 'The sequence of the transition whose postings the correction reversed; null if it added postings.',
    }),
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
    created: unixSeconds,
  })
  .meta({ id: 'Correction' });

export const correctionsOfPayment = partList(correction).meta({ id: 'CorrectionsOfPayment' });

export const annotation = z
  .looseObject({
    id: z
      .string()
      .regex(/^ann_[a-z2-7]{32}$/)
      .meta({ example: 'ann_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('annotation'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the annotation’s own transition.' }),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    annotates: z.int().nullable().meta({
      description:
        'The sequence of the annotated transition; null when the annotation concerns the payment as a whole.',
    }),
    missing_charge: z.string().optional().meta({
      description: 'The id of a charge that, according to the operator, does not exist at the processor.',
    }),
    created: unixSeconds,
  })
  .meta({ id: 'Annotation' });

export const annotationsOfPayment = partList(annotation).meta({ id: 'AnnotationsOfPayment' });

export const decision = z
  .looseObject({
    id: z
      .string()
      .regex(/^dec_[a-z2-7]{32}$/)
      .meta({ example: 'dec_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('decision'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the transition that the decision caused.' }),
    change: z.string().nullable().meta({
      description: 'The id of the decided capture, cancellation or refund; null when the payment itself was decided.',
    }),
    outcome: z.enum(['succeeded', 'failed']),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    override: z
      .boolean()
      .meta({ description: 'Whether the decision was made without the processor’s books, which could not be read.' }),
    postings: z
      .array(posting)
      .meta({ description: 'The postings of the decision. Debits equal credits in every currency.' }),
    created: unixSeconds,
  })
  .meta({ id: 'Decision' });

export const decisionsOfPayment = partList(decision).meta({ id: 'DecisionsOfPayment' });

export const dryRun = z
  .looseObject({
    object: z.literal('dry_run'),
    payment: paymentId,
    type: z.enum(TRANSITION_TYPES).meta({ description: 'The transition that would be appended.' }),
    payment_status: z.enum(PAYMENT_STATUSES).meta({ description: 'The payment’s status after the transition.' }),
    needs_approval: z
      .boolean()
      .meta({ description: 'Whether the request would wait for the approval of a second person.' }),
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
    balances: z
      .array(
        z.looseObject({
          account,
          currency: z.string(),
          normal_balance: z.enum(['debit', 'credit']),
          before: z.int(),
          after: z.int(),
        }),
      )
      .meta({
        description:
          'The balances of this payment only, in minor units. A balance is positive in the normal direction of its account.',
      }),
  })
  .meta({ id: 'DryRun' });
