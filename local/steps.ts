/** Measures consecutive steps of a start or a build. */
export class Steps {
  readonly #nowMs: () => number;
  readonly #begun: { readonly step: string; readonly atMs: number }[] = [];

  /** @param nowMs a clock that never goes back */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  begin(step: string): void {
    if (this.#begun.at(-1)?.step !== step) this.#begun.push({ step, atMs: this.#nowMs() });
  }

  summary(): string {
    const endMs = this.#nowMs();
    const seconds = (fromMs: number, toMs: number) => `${((toMs - fromMs) / 1000).toFixed(1)} s`;
    const parts = this.#begun.map(
      ({ step, atMs }, index) => `${step} ${seconds(atMs, this.#begun[index + 1]?.atMs ?? endMs)}`,
    );
    return `Ready after ${seconds(this.#begun[0]?.atMs ?? endMs, endMs)}: ${parts.join(', ')}.`;
  }
}
