/** Pure: which public keys sign requests. */
import { createPublicKey } from 'node:crypto'

const start = '-----BEGIN PUBLIC KEY-----'
const bitsMin = 2048
/** The time of a verification grows with the key. */
const bitsMax = 4096
const exponentMax = 65_537n

/** Says what is wrong with a PEM text as the public key of a service account. Undefined: nothing. */
export function publicKeyMistake(pem: string): string | undefined {
  // Node derives the public key of a private one, which must stay with its owner.
  if (pem.includes('PRIVATE KEY'))
    return 'is a private key: make a new pair, keep its private key and send the public one'
  if (!pem.trimStart().startsWith(start)) return 'must be a public key in PEM (SPKI)'
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(pem)
    const bits = asymmetricKeyDetails?.modulusLength ?? 0
    if (asymmetricKeyType !== 'rsa' || bits < bitsMin || bits > bitsMax)
      return `must be an RSA key of ${bitsMin} to ${bitsMax} bits`
    if ((asymmetricKeyDetails?.publicExponent ?? 0n) > exponentMax)
      return `must have an exponent of ${exponentMax} or less`
    return undefined
  } catch {
    return 'is not a well-formed public key'
  }
}
