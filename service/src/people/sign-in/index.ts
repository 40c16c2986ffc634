/**
 * Sign-in: how the people of a partner's team, and staff, prove who they are, and their sessions. Tables:
 * sign_in.passwords, sign_in.recovery_codes, sign_in.passkeys, sign_in.answered_challenges, sign_in.sessions,
 * sign_in.identities, sign_in.known_devices, sign_in.kept_forms. Invariants: a password always has an authenticator
 * app. A code, a recovery code and a challenge are accepted once. Attempts are counted before they are checked. Session
 * tokens and device values are stored as SHA-256. A refusal does not reveal whether the address, the password or the
 * code was wrong.
 */
export {
  type Confirmations,
  type ConfirmationInput,
  type Client,
  createSignIn,
  type Enrolment,
  type FactorInput,
  type Session,
  type SignIn,
} from './service.ts'
export { describeDevice, isRecentSignIn } from './rules.ts'
export { sealedTotpSecrets } from './passwords.ts'
export { type KeptForms, sealedForms } from './kept-forms.ts'

export {
  createSingleSignOn,
  type ProviderClaims,
  type SignOnProvider,
  type SignOnPurpose,
  type SignOnAnswer,
  SignOnFailed,
  type SingleSignOn,
} from './single-sign-on.ts'
