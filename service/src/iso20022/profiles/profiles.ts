/** All profiles of pain.001 by their ids. */
import { psa09 } from './austrian.ts'
import { cgi09 } from './cgi.ts'
import { epc03, epc09 } from './epc.ts'
import { cfonb09 } from './french.ts'
import { dk09 } from './german.ts'
import type { Pain001Profile } from './profile.ts'
import { sps09 } from './swiss.ts'

const all: readonly Pain001Profile[] = [epc09, epc03, sps09, dk09, psa09, cfonb09, cgi09]

/** The first one is the default. */
export const profileIds = all.map(({ id }) => id)
export const usualProfile: Pain001Profile = epc09
export const profileOf = (id: string): Pain001Profile | undefined => all.find((profile) => profile.id === id)
