/** A failure that the user can fix. Its one-line message names the action to take. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** The synthesis refused a setting. A start with empty tables would fail, too. */
export class RefusedSetting extends StartFailure {}
