/** Measures consecutive steps of a start or a build. */
export class Steps {
  readonly #nowMs: () => number;
  readonly #begun: { readonly step: string; readonly atMs: number }[] = [];

  /** @param nowMs a clock that never goes back, in milliseconds */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Begins a step, which ends the previous one. Does nothing if this step is already the current one. */
  begin(step: string): void {
    if (this.#begun.at(-1)?.step !== step) this.#begun.push({ step, atMs: this.#nowMs() });
  }

  /** Ends the last step. @returns a sentence with the duration of each step and of all steps, in seconds */
  summary(): string {
    const endMs = this.#nowMs();
    const seconds = (fromMs: number, toMs: number) => `${((toMs - fromMs) / 1000).toFixed(1)} s`;
    const parts = this.#begun.map(
      ({ step, atMs }, index) => `${step} ${seconds(atMs, this.#begun[index + 1]?.atMs ?? endMs)}`,
    );
    return `Ready after ${seconds(this.#begun[0]?.atMs ?? endMs, endMs)}: ${parts.join(', ')}.`;
  }
}
