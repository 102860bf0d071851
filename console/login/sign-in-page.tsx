import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { beginSession, forgetSignedIn, type Session } from '../api/session.ts'
import { LoginFrame } from './login-frame.tsx'
import { PasswordStep } from './password-step.tsx'
import { SecondStep } from './second-step.tsx'

/** Email and password, then the second factor where the person has one, then back to the page they came for. */
export function SignInPage() {
  const [step, setStep] = useState<'password' | 'code'>('password')
  const { return: target = '/', error, ended } = useSearch({ from: '/sign-in' })
  const queries = useQueryClient()
  const router = useRouter()
  useEffect(forgetSignedIn, [])
  const enter = (session: Session) => {
    beginSession(queries, session)
    router.history.push(target)
  }
  return (
    <LoginFrame>
      {step === 'password' ? (
        <PasswordStep {...{ target, ended }} problem={error} onSession={enter} onSecondStep={() => setStep('code')} />
      ) : (
        <SecondStep onSession={enter} onStartOver={() => setStep('password')} />
      )}
    </LoginFrame>
  )
}
