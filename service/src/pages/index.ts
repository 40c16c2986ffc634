/**
 * The payment page of a checkout session, and the bank of the payer in the sandbox: HTML for a browser, without a signature.
 * The link is the credential. Everything works without JavaScript but the live status, the countdown and the copy buttons.
 * `console/` has the pages of a partner's team: a session is the credential.
 * `desk/` has the pages of the operator's staff, on the operations port.
 * Owns no tables.
 */
export { createDeskSite } from './desk/site.ts'
export type { ConnectorFacts } from './desk/connector-pages.ts'
export type { DeskChanges } from './desk/request.ts'
export type { Runbooks } from './desk/runbooks.ts'
export { createConsoleSite } from './console/site.ts'
export { createCheckoutSite } from './site.ts'
