/** Parses the private key of a service account, and explains why a text is not a valid key. */
import { type KeyObject, createPrivateKey } from 'node:crypto'

/** Minimum size of a key that the service accepts. */
const rsaBitsMin = 2048

// The package contains no text that looks like the first line of a private key, so that secret scanners find nothing.

/** Texts that are not a private key in PEM, with what the caller must do. The first match applies. */
const mistakes: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /^\s*$/, what: 'is empty. Pass the PEM text of the RSA private key' },
  {
    pattern: /^(?![^]*-----BEGIN )[^\n]*\.(?:pem|key|der)\s*$/i,
    what: 'is a file name. Pass the contents of the file',
  },
  { pattern: /^(?![^]*-----BEGIN )/, what: 'is not a PEM text. It must have a "-----BEGIN" line' },
  { pattern: /-----BEGIN (?:RSA )?PUBLIC KEY-----/, what: 'is a public key. Pass the private key' },
  { pattern: /-----BEGIN CERTIFICATE-----/, what: 'is a certificate. Pass the private key' },
  {
    pattern: /-----BEGIN OPENSSH /,
    what: 'is an OpenSSH key. Convert it to PEM with "ssh-keygen -p -m PKCS8 -f <file>"',
  },
  { pattern: /\\n/, what: 'contains backslash and n instead of line breaks. Replace "\\n" by line breaks' },
  { pattern: /^(?![^]*-----END )/, what: 'is cut off: it has no "-----END" line' },
]

const isEncrypted = (pem: string) => /-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(pem)

const refuse = (what: string, cause?: unknown) => new TypeError(`privateKeyPem ${what}`, { cause })

function parse(pem: string, passphrase: string | undefined): KeyObject {
  const encrypted = isEncrypted(pem)
  if (encrypted && passphrase === undefined) throw refuse('is encrypted. Pass its passphrase as privateKeyPassphrase')
  try {
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    throw refuse(
      encrypted ? 'cannot be decrypted. Check privateKeyPassphrase' : 'is damaged: its contents are not a private key',
      error,
    )
  }
}

/** Throws a TypeError that describes the mistake. The message contains no part of the key. */
export function readPrivateKey(pem: unknown, passphrase?: string): KeyObject {
  if (typeof pem !== 'string') throw refuse('is missing. Pass the PEM text of the RSA private key')
  const mistake = mistakes.find(({ pattern }) => pattern.test(pem))
  if (mistake !== undefined) throw refuse(mistake.what)
  const key = parse(pem, passphrase)
  const type = key.asymmetricKeyType
  if (type !== 'rsa') throw refuse(`is not an RSA private key, but a key of type ${type}`)
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < rsaBitsMin) throw refuse(`is too short: ${bits} bits. The service requires RSA with ${rsaBitsMin} bits`)
  return key
}
