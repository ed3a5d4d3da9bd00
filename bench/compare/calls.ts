/** Where a call is stopped: before the service applies it, or before the process receives the response. */
export type Side = 'before' | 'after';

interface Trap {
  /** Number of the call since {@link Calls.begin}, counted from 1. */
  readonly call: number;
  readonly side: Side;
  /**
   * Called when the call reaches the trap: kills the process, or waits while a rival acts.
   * @returns whether the call continues; false if its process has been killed
   */
  readonly spring: () => Promise<boolean>;
}

/** Counts the outgoing calls of one process, and stops one of them at a chosen point. */
export class Calls {
  #count = 0;
  #trap: Trap | undefined;

  /** Starts counting from 1, and sets the trap, or removes it if none is given. */
  begin(trap?: Trap): void {
    this.#count = 0;
    this.#trap = trap;
  }

  /** The number of calls since {@link begin}. */
  get count(): number {
    return this.#count;
  }

  /** Counts a call that begins, and returns its number. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /**
   * If the trap is set at this call and side, triggers the trap and waits for it. Returns whether the call continues;
   * false if its process has been killed.
   */
  async pass(call: number, side: Side): Promise<boolean> {
    const trap = this.#trap;
    if (trap?.call !== call || trap.side !== side) return true;
    this.#trap = undefined;
    return trap.spring();
  }
}
