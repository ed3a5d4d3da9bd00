/**
 * A group is noisy if it has more than this share of the messages in flight, and at least `NOISY_MESSAGES` in flight.
 */
const NOISY_SHARE = 0.1;
const NOISY_MESSAGES = 30;

export interface Grouped {
  /** A message without a group forms its own group. */
  readonly group?: string | undefined;
}

/**
 * Returns the message that an SQS standard queue delivers next: messages of quiet groups before messages of noisy
 * groups, and among noisy groups the message of the group with the fewest messages in flight (Amazon SQS developer
 * guide, "How Amazon SQS fair queues work"). SQS also considers a group noisy because of its share of the processing
 * time. This function omits that measure, so SQS separates groups earlier than this function.
 *
 * @param waiting waiting messages, oldest first
 */
export function nextOfFairQueue<Message extends Grouped>(
  waiting: Iterable<Message>,
  inFlight: Iterable<Grouped>,
): Message | undefined {
  const held = new Map<string, number>();
  let all = 0;
  for (const { group } of inFlight) {
    all += 1;
    if (group !== undefined) held.set(group, (held.get(group) ?? 0) + 1);
  }
  const heldBy = ({ group }: Grouped): number => {
    const own = group === undefined ? 0 : (held.get(group) ?? 0);
    return own >= NOISY_MESSAGES && own > NOISY_SHARE * all ? own : 0;
  };
  let next: Message | undefined;
  let least = Infinity;
  for (const message of waiting) {
    const own = heldBy(message);
    if (own >= least) continue;
    [next, least] = [message, own];
    if (least === 0) break;
  }
  return next;
}
