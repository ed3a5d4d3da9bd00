/** A failure that the user can fix. Its one-line message names the action to take. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** CDK synthesis rejected a setting. Starting again with empty tables would not help. */
export class RefusedSetting extends StartFailure {}
