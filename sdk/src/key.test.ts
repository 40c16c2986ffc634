import assert from 'node:assert/strict'
import { type KeyObject, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { privateKeyPem } from '../../test/support/scripted-api.ts'
import { createClient } from './client.ts'

const options = { baseUrl: 'http://127.0.0.1:1', apiKey: 'a', apiSecret: 's' }
const create = (pem: unknown, privateKeyPassphrase?: string) =>
  createClient({
    ...options,
    privateKeyPem: pem as string,
    ...(privateKeyPassphrase !== undefined && { privateKeyPassphrase }),
  })
const pkcs8 = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey
const key = rsa(2048)
const encrypted = key
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct horse' })
  .toString()
const encryptedPkcs1 = key
  .export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct horse' })
  .toString()
const lines = privateKeyPem.trimEnd().split('\n')
const label = (name: string) => privateKeyPem.replaceAll('PRIVATE KEY', name)

const mistakes: readonly (readonly [title: string, pem: unknown, message: RegExp, passphrase?: string])[] = [
  ['is missing', undefined, /is missing/],
  ['is empty', ' \n', /is empty/],
  ['is a file name', './keys/partner.pem', /is a file name. Pass the contents of the file/],
  ['is not a PEM', 'c2VjcmV0', /is not a PEM text/],
  ['is a public key', createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(), /is a public key/],
  [
    'is a PKCS#1 public key',
    createPublicKey(key).export({ type: 'pkcs1', format: 'pem' }).toString(),
    /is a public key/,
  ],
  ['is a certificate', label('CERTIFICATE'), /is a certificate/],
  ['is an OpenSSH key', label('OPENSSH PRIVATE KEY'), /is an OpenSSH key. Convert it/],
  ['has escaped line breaks', privateKeyPem.replaceAll('\n', '\\n'), /backslash and n instead of line breaks/],
  ['is cut off', lines.slice(0, -1).join('\n'), /is cut off/],
  ['is damaged', [lines[0], ...lines.slice(4)].join('\n'), /is damaged/],
  ['is an EC key', pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), /not an RSA .* type ec$/],
  ['is an Ed25519 key', pkcs8(generateKeyPairSync('ed25519').privateKey), /not an RSA .* type ed25519$/],
  ['is too short', pkcs8(rsa(1024)), /is too short: 1024 bits. The service requires RSA with 2048 bits/],
  ['is encrypted', encrypted, /is encrypted. Pass its passphrase as privateKeyPassphrase/],
  ['is encrypted in PKCS#1', encryptedPkcs1, /is encrypted. Pass its passphrase as privateKeyPassphrase/],
  ['has another passphrase', encrypted, /cannot be decrypted. Check privateKeyPassphrase/, 'wrong horse'],
]

for (const [title, pem, message, passphrase] of mistakes) {
  test(`createClient refuses a private key that ${title}, and says so`, () => {
    assert.throws(
      () => create(pem, passphrase),
      (error) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, /^privateKeyPem /)
        assert.match(error.message, message)
        for (const line of String(pem)
          .split('\n')
          .filter((each) => each.length > 40))
          assert.ok(!error.message.includes(line), 'the message contains a part of the key')
        return true
      },
    )
  })
}

test('createClient accepts PKCS#8, PKCS#1, encrypted keys, CRLF and text around the key', () => {
  create(pkcs8(key))
  create(key.export({ type: 'pkcs1', format: 'pem' }).toString())
  create(encrypted, 'correct horse')
  create(encryptedPkcs1, 'correct horse')
  create(pkcs8(key).replaceAll('\n', '\r\n'))
  create(`Bag Attributes\n  friendlyName: partner\n${pkcs8(key)}`)
})
