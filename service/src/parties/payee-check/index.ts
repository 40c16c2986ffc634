/**
 * Verification of payee: whether a name and an IBAN belong together. A scheme behind the port answers for other banks.
 * For IBANs that this service has issued, the module compares the names. It does not store data; modules store the
 * evidence. README.md states the rules of the comparison.
 */
import { type PayeeScheme, sandboxScheme } from './port.ts'

export { compareNames, createVerification, type ReadHolderNames, type Verification } from './service.ts'

export const payeeScheme = (name: 'none' | 'sandbox'): PayeeScheme | null => (name === 'sandbox' ? sandboxScheme : null)
