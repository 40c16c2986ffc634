/**
 * Signing in: how the people of a partner's team prove who they are, and their sessions.
 *
 * Tables: sign_in.passwords, sign_in.recovery_codes, sign_in.passkeys, sign_in.answered_challenges, sign_in.sessions, sign_in.identities,
 * sign_in.known_devices, sign_in.kept_forms. Invariants: a password has an authenticator app beside it; a code, a recovery code and a challenge are accepted once; attempts are counted before they are
 * judged; a token of a session and the value of a device are stored as SHA-256; a refusal does not say which of address, password and code was wrong.
 */
export {
  type Confirmations,
  type GivenConfirmation,
  type Client,
  createSignIn,
  type Enrolment,
  type Factor,
  type GivenFactor,
  type Session,
  type SignIn,
} from './service.ts'
export { deviceOf, isRecentSignIn } from './rules.ts'
export { sealedTotpSecrets } from './passwords.ts'
export { type KeptForms, sealedForms } from './kept-forms.ts'

export {
  createSingleSignOn,
  type Proved,
  type Provider,
  type Purpose,
  type SignOnAnswer,
  SignOnFailed,
  type SignOnFailure,
  type SingleSignOn,
} from './single-sign-on.ts'
