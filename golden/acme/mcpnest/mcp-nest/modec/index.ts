// Written by modec from the project's source; edits are overwritten.

export * from './guards';
export * from './policy';
