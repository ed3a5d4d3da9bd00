import type { Step } from '../contract.ts';
import type { Draft, Drawing } from './act.ts';
import { CELL_COURSES } from './cell-courses.ts';
import type { Course } from './course.ts';
import { ORDER_COURSES } from './order-courses.ts';
import { PAYMENT_COURSES } from './payment-courses.ts';

const COURSES: readonly Course[] = [...PAYMENT_COURSES, ...ORDER_COURSES];

/**
 * Probability that a payment or an order follows a course, for each of the features `cells` and `courses` that the
 * history has.
 */
const SHARE = 0.9;

/** The same `dice` always give the same course. */
function courseOf({ dice, has }: Drawing, of: Course['of']): Course | undefined {
  const own = dice.named('course');
  if (has('cells') && own.named('cell').chance(SHARE)) {
    const fitting = CELL_COURSES.filter((each) => each.of === of);
    if (fitting.length > 0) return own.named('cells').pick(fitting);
  }
  if (!has('courses') || !own.chance(SHARE)) return undefined;
  return own.pick(COURSES.filter((each) => each.of === of && (each.feature === undefined || has(each.feature))));
}

export function courseBegins(drawing: Drawing, of: Course['of']): Course['begins'] {
  return courseOf(drawing, of)?.begins ?? {};
}

/** Some of the steps take place before the subject is created. */
export function courseGoesOn(drawing: Drawing, root: Step & { readonly amount: number }): readonly Draft[] {
  // A subject that was created within the course of another subject has no course of its own.
  const isPartOfCourse = root['of'] !== undefined || (drawing.root !== undefined && drawing.root.id !== root.id);
  if (isPartOfCourse || (root.act !== 'pay' && root.act !== 'order')) return [];
  return courseOf(drawing, root.act)?.goesOn(drawing.dice.named('course goes on'), root) ?? [];
}
