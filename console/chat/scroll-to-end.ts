import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'

/** This close to the end still counts as the end. */
const NEAR_PIXELS = 48

/**
 * Keeps the end of the page in sight while it grows, until the reader scrolls up; from then on only when they come back or ask.
 * `content` is what grows; when it begins `empty` the page stays where it is.
 */
export function useScrollToEnd(content: RefObject<HTMLElement | null>, empty: boolean) {
  const following = useRef(!empty)
  const [away, setAway] = useState(false)
  const follow = useCallback(() => {
    following.current = true
    setAway(false)
    toEnd()
  }, [])
  useEffect(() => {
    let last = window.scrollY
    const onScroll = () => {
      const up = window.scrollY < last
      last = window.scrollY
      if (isAtEnd()) following.current = true
      else if (up) following.current = false
      setAway(!following.current)
    }
    const observer = new ResizeObserver(() => {
      if (following.current) toEnd()
      else setAway(!isAtEnd())
    })
    if (content.current) observer.observe(content.current)
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      window.removeEventListener('scroll', onScroll)
    }
  }, [content])
  return { away, follow }
}

function isAtEnd(): boolean {
  const { scrollHeight } = document.documentElement
  return scrollHeight - window.innerHeight - window.scrollY <= NEAR_PIXELS
}

function toEnd(): void {
  window.scrollTo(0, document.documentElement.scrollHeight)
}
