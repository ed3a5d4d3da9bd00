import * as z from 'zod';
import { ACTIONS, ACTIVITY_ID } from '../../activity/domain/activity.ts';
import { byOperator, byRequest } from '../../payments/http/payment-answers.ts';
import { unixSeconds } from '../../payments/http/payment-objects.ts';

export const actor = z
  .discriminatedUnion('type', [
    byRequest,
    byOperator,
    z.looseObject({ type: z.literal('command'), operator: z.string() }),
    z.looseObject({ type: z.literal('start') }),
  ])
  .meta({
    id: 'Actor',
    description: 'The actor. `command`: a user of the command line. `start`: a function that started.',
  });

export const activity = z
  .looseObject({
    id: z.string().regex(ACTIVITY_ID),
    object: z.literal('activity'),
    sequence: z.int().min(1).meta({ description: 'The position in the chain, counted from 1 without gaps.' }),
    action: z.enum(ACTIONS),
    caused_by: actor,
    about: z.array(z.string()).meta({
      description: 'The ids of the affected objects, most specific first, for example a correction and its payment.',
    }),
    details: z.record(z.string(), z.string()),
    created: unixSeconds,
  })
  .meta({ id: 'Activity' });

export const activityList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(activity).meta({ description: 'Newest first.' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'ActivityList' });
