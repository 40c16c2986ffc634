/**
 * The payment page of a checkout session, and the bank of the payer in the sandbox: HTML for a browser, without a signature.
 * The link is the credential. Everything works without JavaScript but the live status, the countdown and the copy buttons.
 * Owns no tables.
 */
export { createCheckoutSite } from './site.ts'
