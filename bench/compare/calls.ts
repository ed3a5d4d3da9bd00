/** Where a call is stopped: before the service applies it, or before the process receives the response. */
export type Side = 'before' | 'after';

interface Trap {
  /** Counted from 1. */
  readonly call: number;
  readonly side: Side;
  /**
   * Kills the process, or waits while a rival acts.
   * @returns whether the call continues; false if its process has been killed
   */
  readonly spring: () => Promise<boolean>;
}

export class Calls {
  #count = 0;
  #trap: Trap | undefined;

  /** Starts counting from 1. Removes the trap if none is given. */
  begin(trap?: Trap): void {
    this.#count = 0;
    this.#trap = trap;
  }

  get count(): number {
    return this.#count;
  }

  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Returns false if the trap has killed the process. */
  async pass(call: number, side: Side): Promise<boolean> {
    const trap = this.#trap;
    if (trap?.call !== call || trap.side !== side) return true;
    this.#trap = undefined;
    return trap.spring();
  }
}
