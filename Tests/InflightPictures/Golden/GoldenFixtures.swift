/// ``GoldenScene`` in the formats that are decoded in process.
///
/// FFmpeg 9.0.2, with its own encoders, which share nothing with the decoders here, wrote `png…` (`-c:v png` of
/// `rgb24`, `rgba`, `rgb48be`, `rgba64be`, `gray`, `ya16be`) and `jpeg…` (`-c:v mjpeg -q:v 1`, `yuvj444p`). Pillow 13.0
/// wrote the others: with libjpeg-turbo at quality 98 and 99 without chroma subsampling, the CMYK one inverted as
/// Adobe's programs do; and with libwebp, `lossless` with `exact`, and lossy at quality 98. None carries a profile:
/// tests add profiles, so that the same samples mean different colours.
package enum GoldenFixtures {
    package static let png = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAIAAAAUMWhjAAAACXBIWXMAAAAAAAAAAQCEeRdzAAAAr0lEQVR4nGPk4XrIzvCXdoiFgfMvAwMN0Yi1
        INylhoGZAQ3dWpVDHQviLGoYsAG1yCkPN6RRakGqDnbTIUA+eNaLbQkU+oAQQDVw1AIaWPCf1hZ8o7EFszlzUj9MwWX4w69+7BTHwd9FnGlxr2Zh
        mn6LEd10Mi0AopXyCVgLZ0yVg7WwI8ECjsI0dloCFkKJjlIwDCz4saf7P8NfotHX/wyfCKj5//f/DzACc2meigBCZkVif3EiNgAAAABJRU5ErkJg
        gg==
        """)

    package static let pngAlpha = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAYAAACbU/80AAAACXBIWXMAAAAAAAAAAQCEeRdzAAAAyklEQVR4nGPk4XrIwM7wFxlz0xAzodnFwMLA
        +ZeBgWHg8KgDqOaAcJcaBgZmBqz41qoc2jogzgJoOR6gFjmF4eGGNNo4IFUHv+UwIB88i+HFtgRahAAJAItdow4YBg74P9AO+DbADpjNmcOQ+mEK
        QbsffvVjYKdNGvjLsIgzjSHu1Syclt9ixG451RwAwivlE9CrdRSMS9/wqYzIdgBHYRoDOzv7gGEWnCmHTmDUASw/9nQDS9O/ZOKvQPyJePX/gfgH
        FEPFBjwXAAD1/EZhp8UniQAAAABJRU5ErkJggg==
        """)

    package static let png16 = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYEAIAAABEobQgAAAACXBIWXMAAAAAAAAAAQCEeRdzAAACcklEQVR4nM2Yv0scQRTHZ8je7awGx/sLBEFs
        xCqFpUVKsUggISCGK7zKO4IIIZDCQmEh4CEK4cQmmBBiJRYhRUprsVUbtQi5FCEoyiawN+68ucuNNzt3s7MryBe+zL6de/d5b+b2x+H+Q+/g7JNL
        EQlzshMl4lKsRAy8yvxwxWx+7/wqlYOIVwhziPAD4ViMqYhgIp3tmNnDfY7eyqNz+/wM8ncUgNWpyaB7oNvnl9sq0EU8KqCvIE0qtHtv5THoKdZQ
        03U5ErOFskCPh37+8vHU22VEHvTz43jH4EfnO3vzi3LvWVVGx50F3N73dujdOj1bmpjk6N2EpfHo+IvixtZpffdbqdLqenx+B4sVsERHous1/faY
        K489SoIua+jz05Pa8E/ytVDU5rfdQi10o88mR2c+X9doBFurG2HyAhKh6wswQxfKqgAL9LgCkqBnVAAT6O9tL4L26OIzEeGMZQECPd39gbn26ClW
        oNn11LceTK4b9ujdCsC6AmT0VPcH8M1tj8wvlsp/go2tpOhn9atw+plLjVcgq66r/mHHI6XK7I9fC7VhE/Tjc+wBumZV221tFqCip+/9LYf8X+jQ
        aFH3qDyjxk0yO8z31u6m6zK6zcW3V+9jtlDGvc8UXXWxaxwy+OrNXMWlXATkDoqjFKqC2nkGOs7nwXPgD81yymz5Klc0euJ+dNSfUyr5IArKKCcG
        iZz8yRSuYP/lqJPuD7osFb1ZwH1GF2zRq0wk3RwnQN/3360zBD8LI8ft8RJ/1WAUvQ5H4udfhdwvLiESgP9OlH81pA3E3OhbUIB4PPgLZy/A/xk/
        jSpvQ0b/OJi7ff4bMI8lQTlz63IAAAAASUVORK5CYII=
        """)

    package static let png16Alpha = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYEAYAAADLwyN3AAAACXBIWXMAAAAAAAAAAQCEeRdzAAACnklEQVR4nN2Yv2vWQBjH72raXHyL6fsXFITS
        RZwcHDt0LA4KlkKpdOg7taWIIIKDg0Kg0FAUpOIiWko7FQdxcHQWV3WxHcQ6SKlUopCeeZK7t83lveSSPKkoN3zf+5Xn/TzPcz8S2nrvvNtZJ8R2
        CQv7s8pibbXsjFJNe0n1uRc+qDLfxH5fX5ojy2cR5rThB2FJg1Qq665sp0wZ13OesXoAfvL5RYprnwv7PRyQMYQDbAyOa18NpASX/ZEDzraVCe10
        5JFUC46cWQURV9u1S6A58HzgyRvjE3fvQ/1MK2orVCr0w+7Wy/lb2chzXwWnvR2QXfNY4GYRnulcHkvA41KoVKmPXpyaffSUkM972687iycjnm/f
        ojID0MCJjPiaSUrPLVy4VAdc1eGNa5/WzhPylb1qzxrYx1sCx+Cln4cBzj3IubgulogZV30H1AA3cUB5cNnftAMQwPMcUB28YQdwCf4Y77jCBYdt
        TzhgGtEBEhz/nsBtXHDkDOhGvKELCmU/j3DBzRxAixyggqPfE4Q+ee4wuMB0FvYDOMfrgu/sHYZXrsPLTsUMaDriOn225TC4wMx8+XYTzvGy4B93
        qSPACzIuHciuA3TgTUU+o8L+pjs8ChcY3et5rNP6/rJ2Le45q38j4io4xnFaJvLaJXBqkT8lcJ3KjLfY0NKduUVIIShRvwslqg8lddmOpj4U5fnn
        eo4fENovdLCKPZVnwIcS91+1X8QZkN1kGlEvLhBxKI3bo4wmm6WwB2+H4lRJjbN0E/5VcFV14F0H/G/gkof7UIrHWwF583b5YTSBiM2htNJ0/V7y
        IYK75HY4kj//MEz04IdoD4R+r2V/JYwcfkS4Hf8PEpCkP/glxh0I/Z17CuhV84Wl9Ffeqopr/w/pzic/UPhddgAAAABJRU5ErkJggg==
        """)

    package static let pngGray = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAAAAAC+OKDoAAAACXBIWXMAAAAAAAAAAQCEeRdzAAAASElEQVR4nGNkYCEAWAdCQScDGEzHpaADIs+Q
        uQC7gnYGGEhYiVUBAwKwDl0FCxJg8iewK2BZGQ6RPwmVwQzqTagSAxLdg08BADGUEyp4/ZFsAAAAAElFTkSuQmCC
        """)

    package static let pngGray16Alpha = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAYEAQAAABhyuv8AAAACXBIWXMAAAAAAAAAAQCEeRdzAAABEklEQVR4nMXWuw6CMBQG4MOlxgR4PlfdjJtP
        ISYQdXFlxVGfQjd4AlffQttIFbSX0xaF5E8T6Mn3R0uCB/QKKoAw5okiQhNikxnsjX3/7TQJ6+4NwtbkY5MsmcFe2TxJBsSTVoFB8Lgp0Ae+3tHD
        NP6OR7MvFPOjxB1Pt3KcrYslQFFK5okjvtqocZ7pDeAgslAFFP85Br+nz1VoaQtoDhwWtyuAOO1Y3LwAAm8X0OFmBZA4L4DB8QUMcBYsjitgiLOw
        93s21+PnSlfAAucpjwCTqxy/1BL8VcAB5+VPiufKN43k7rjtPBEewj/iQe5SoA/c+hfoC7cqYImTZu3gxgVccDoXZILnrt8DTji6wK9wmge/L17P
        7lWFAgAAAABJRU5ErkJggg==
        """)

    package static let jpeg = Base64.bytes(
        """
        /9j//gAPTGF2YzYzLjEuMTAyAP/bAEMACAICAgICAgICAgICAwMDAwMDAwMDAwMDAwMDAwQEBAMDAwMDAwMEBAQEBAQEBAQEBAQEBQUFBgYFBQcH
        BwgICv/EAIsAAQADAQEAAAAAAAAAAAAAAAYFBAcBAwEBAQEBAQEAAAAAAAAAAAAABgUHBAMAEAABAgQDBgYDAQAAAAAAAAABAgMFAAYRBCMSUcMV
        QSKhB4EhMjETwhQIQhEAAAQDBAcIAwEBAAAAAAAAAQIDBAUGACIREiFxMTKBQiOhwlETwxQVQQczCENhUv/AABEIABgAIAMBEgACEgADEgD/2gAM
        AwEAAhEDEQA/AM6h9JfGX2lPD6S9uV2nUoxNO3zOtG4xNO1zOtT5dmD8dvuqHLswbFvuqGh9JfGX2lPD6S9uV2nujE07XM60bjE07XM606l2YPx2
        +75qHLswbFvrXjA/AsO4XDuY2Lt4N5SbuMowofDRP+Pt/ZbCiBbVZOkG4BI9SihwUQk6VD02TEmr9w2qcUftYLKi8XZJqCRu+ViQsTuilAAFYGgw
        5wdMhjYvDA6niCTCJyEMIkAbGpRmKGvHLNWEvXApHEvjNkFl26oawUSVIncYpgEBzuMGo5QMAhWiQtq+h6CB3KpQUEoCdIM8A/8AOMDXCIfNwXX6
        hEM682k6yxGWTZ81jMPTBYmLwV3CKLlIdQpqomUxFMUQEMrym1kMYogNHcZ4dPQOIKwTv1vpsFsupFg6yokJWUXJQq4IUgk2INiRYlPiIGYnimny
        2TpbS36jYpSvyl3AfthjO8BSjbMqzQ2IUHTZQREzZ2QhTHRBXCUqpLjlOmqUAxEMGIpDYigVklZ3LUtqNXtyB3DpR2CV9tMiiKKYAqW4MJ+ViEuY
        gAgBrjXgFeXJh2QEwgIDcIf7UdjMDcHpgbLAoQBuxFGyYwaxKPyHcOofjKhNL0z/AFZl8Wh2zV1UhuVzoEP5SpeTHEs/Vv8ATZS7BK5Ixx76yqHR
        v9ebPt7zRZmXzC0Ol3g3VBUvTHi9l8Wh2zV1QXcrlXD+XlPzyY4Vn6t/psrdglSoxx760CHRv6ws+3vNFmLeYWjsu8G6q9L0xEcvi0O2auprcrmW
        h/LynreTHIWfq3+mzEewSj0Y499MYdG4RZ9veaLK3mFqZLvBuq7S9MUFl8Wh2y/VEdyuew/l5TWeTH9NZ+rf6bMc7BKKRnUekUOjcwWfb3miy28w
        tecvfz3V/9k=
        """)

    package static let pillowJPEG = Base64.bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQIBAQEBAQIBAQECAgICAgICAgIDAwQDAwMDAwICAwQDAwQEBAQEAgMFBQQE
        BQQEBAT/2wBDAQEBAQEBAQIBAQIEAwIDBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAT/wAARCAAYACAD
        AREAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKB
        kaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZ
        mqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQF
        BgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5
        OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX
        2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD+dPQPhL93/RvQfcr/AKkeMfFH4/3n4n4D4d+IH8P3+3U9w8P/AAl+7/o3oPuV/KfG
        Pil8f7z8T+8PDrxA/h+/26n6G+B/2F1u9MsLnWvF0Gj6pPbiW70u30AatHYkkkRm4Fygdgu3cVXaG3BWcAO3+A/ir+2IyrDcU4/K+CuE54/K6c3C
        jiqmNeFlXikk6iw7wVaVOEpc3s1Op7SVPklUp0akpUof6gcL5VnvD2Bo18yqpV7JyprXlf8ALzqVm0t3Fct7pOStJv1n9nW88D+IJdEuvIvovLW6
        03ULdAiX9s7OscpjyTG2UdWjYnayHBddrt+i8BfSyyTxv4BpcbZNCdCfM6WIoTd3QxEIwlUpqpyxjVhacJ06sUuenOPPCnVVSlT/AKe8OfEJ3jGU
        rSi7Nef6/I878P8Awl/1f+jDk5PyV/qBxj4pfF+8/E/4UPDvxB/h++e4eH/hL/q/9GHJyfkr+U+MfFL4v3n4n93+HfiB/D9/8T7k8OpIyxt5Ui5Q
        HayEMvsa/wCY7jXwh8ReGs5xOTYnKa9Z0pOPtaFKrVo1Fup06kYWlGSaetpxvy1IwmpRX/QFlPjT4YcZ5Jh88yrOcPBVoqXsq1alSr03s4VKUp80
        ZRaadrwlbmpynCUZvqNQ8DN4l1S1vWtmbyLJLMM6ddryPx7fvD+Vf0j4JYzN/DTw2q5VnS9lWxGIniVTv78IzpUacVUVlyzfsuZw1cU0pWmpQjOR
        +IGXLO5wyysp007cyfutrdxfVdL7PdXVm/xL+F/wy/4Ksf6P/wAJZ4d7AS/v/hx+P+pf+Vf6iZz4jcTa/wBr4/192n/7bE/5TuHeN/2enu/6v4z0
        0zz/ANvifox8L/hl+17/AKP/AMJZ4d7AS/v/AAx+P+pf+VflOc+I3C2v9r4/192p/wC2xP3jh3jf6Mfu/wCr+M9NMw/9vifoz8L/AIZeIv8AR/8A
        hLPDvYCX9/B+P+pf+VflOc+I3gPr/a+P9fdxn/tsT944d434S93+wMZ6aVf/AG+J+jHwv+GXwF/0f/hLPDvYCX9/rP4/6l/5V+U5z4jfQ31/tfH+
        vu5r/wC2xP3jh3jfxC93/V/GemlD/wBvif/Z
        """)

    package static let pillowGrayJPEG = Base64.bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQIBAQEBAQIBAQECAgICAgICAgIDAwQDAwMDAwICAwQDAwQEBAQEAgMFBQQE
        BQQEBAT/wAALCAAYACABAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEG
        E1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJ
        ipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/AP4+/ht8JP8A
        j3/0X0/gr9APht8JP+Pf/RfT+Cv6qvgt/wAEE/EC+CPC+tfEf426b4H8bajpq33iDwPpXw9Txna+GJXZmSzbVl1aCO4mSMxiZoYjCs3mJFLPGqTy
        cF45/Yz8Qfs+fEq8+H2uz2OtwJAmr+HPEOnoIYPEOmTSzRW901tuZ7eUtBNHLbuSUkhfa8sZjmk/nS+G3wk/49/9F9P4K/QD4bfCT/j3/wBF9P4K
        /ti8E/tEfBvx34b0bxLpvj7wzpaazZLdHQ/Emu2Wh+JdKfJWS3vLOSbckkbqykqWjfaHjeSNkkb5B+OlrofxX+LVvrPh921Kx0Pw7B4XfUUjBsr6
        WC7vbiR7ZwT5kQ+1hBJgBijFdyFHb+Zv4bfCT/j3/wBF9P4K/QD4bfCT/j3/ANF9P4K/QD4bfCT/AI9/9F9P4K/QD4bfCT/j3/0X0/gr/9k=
        """)

    package static let pillowCMYKJPEG = Base64.bytes(
        """
        /9j/7gAOQWRvYmUAZAAAAAAA/9sAQwABAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQECAgEBAgEBAQICAgICAgICAgECAgICAgIC
        AgIC/8AAFAgAGAAgBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAE
        EQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6
        g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkA
        SwAAPwD+xj9pL/l//wC2v9a/rg/4a2/6if8A5G/+vX9jHxJ+JP8Ax8f6R/e/i+vvX90njf8A5bf8C/rX8/8A+0l/y/8A/bX+tH/DW3/UT/8AI3/1
        6/P/AOJPxJ/4+P8ASP738X196+P/ABv/AMtv+Bf1r+f/APaS/wCX/wD7a/1o/wCGtv8AqJ/+Rv8A69fn/wDEn4k/8fH+kf3v4vr71/Pz8Y/+Cm/h
        vS/Emu6d4R+F134s8OWV3JbaX4lvfF7+GZtahiRVk1BNCl8IXcmn2klwJjbrNMJ3g8uS4gtZnktYf5//ANpL/l//AO2v9aP+Gtv+on/5G/8Ar1+f
        /wASfiT/AMfH+kf3v4vr710Pw++Nfhv4+fD6Dx14dtbvTXW7n0XxDol6Hkm0LxJZ2tnd3+mJfeTHHq1p9n1Cymt7qJVEsF5GZYra6E9pB/sAftJf
        8v8A/wBtf61/L/8A8Nbf9RP/AMjf/Xr+gD4k/En/AI+P9I/vfxfX3r+qXxv/AMtv+Bf1r+f/APaS/wCX/wD7a/1o/wCGtv8AqJ/+Rv8A69fn/wDE
        n4k/8fH+kf3v4vr718f+N/8Alt/wL+tfz/8A7SX/AC//APbX+tH/AA1t/wBRP/yN/wDXr8//AIk/En/j4/0j+9/F9fev46/jH+y/8fPCPiTXfDc/
        wr8ca8+k3clsuteE/CniLxJ4b1WEosttqGkazp2ltHdWktvJE4VhHPCXMF1Bb3Uc0Ef8/wD+0l/y/wD/AG1/rR/w1t/1E/8AyN/9evz/APiT8Sf+
        Pj/SP738X196+yv2Tfhb4y+FXwSutP8AHGm/2Lq/irxbqXjO20WdpF1XS9K1HQ/Dul2Vtrtq8S/2dq7/ANiyzvalnkt47uKO5EN2txawf7AH7SX/
        AC//APbX+tfy/wD/AA1t/wBRP/yN/wDXr+gD4k/En/j4/wBI/vfxfX3r+wrxv/y2/wCBf1r+f/8AaS/5f/8Atr/Wj/hrb/qJ/wDkb/69fn/8SfiT
        /wAfH+kf3v4vr718f+N/+W3/AAL+tfz/AP7SX/L/AP8AbX+tH/DW3/UT/wDI3/16/P8A+JPxJ/4+P9I/vfxfX3r4/wDG/wDy2/4F/Wv5/wD9pL/l
        /wD+2v8AWj/hrb/qJ/8Akb/69fn/APEn4k/8fH+kf3v4vr718f8Ajf8A5bf8C/rX/9k=
        """)

    package static let losslessWebP = Base64.bytes(
        """
        UklGRuAAAABXRUJQVlA4TNQAAAAvH8AFEAkyaRvou/g3PBMR/Y9ah4VAIMkfeIIhIvqfVkHCtNa2JR/uiURiCgZgABKJxAzsx0Qkt+ye/4Z/B2lt
        K3kNUHew2ZzHRmMqm815bDa3MLKNbFvJi79U5h+6cCd6FeAW0R09MGRvhkzaFmd7OwFyeQdCzhOEmhqEfp7nKUF22BmIAWr7fTWd7Yh0e+02lRUI
        AP1ufUxEhs4nAdrHQ5+NOLb6iqdMhMYqRH7XRV0Hp0JzJ+62dmLYS+aeL9CRgNQtwEwOgM0P/6Dh093wmxzJ3A==
        """)

    package static let lossyWebP = Base64.bytes(
        """
        UklGRsoBAABXRUJQVlA4IL4BAACwDQCdASogABgAPgkCgUCBQAAAEJbACdMoRwN4t+AH6jf13nDNAux/60/3jLpOAP9dtDX8d9AD+Ac47+s3vx85
        nwAHlAfsz8EX67eh7dqfzz6ZuouPRDwH2OyZ6vA/Rf+xHfbcyRKeC0kZqUsvpf+sbY7JEx4AAP7//yeeWO0SquyqPNfQnvI0K5MvXlQPwx0bk3//
        a0ipOxMlEk7xv3/+5O5bBW8pGSk7Gc4badbVc40i/cxtL85yJQn7UFQxa2+P951h/qrww4xGbMKQ08xyIaLNJVmtqI3uTjVR7wn8EaTabnv3+Hxa
        s9IiZnXBYT/jo3kL0SorGnnQIMTYC9Mi1T5CpzyP1u11w6r/6UXORKE3L/2M3qcjKfQA6NpGVZt2UZdll/tWevb3+z1ReBi5tpRyrpP2/pGqp7So
        up/8s05D//dpBWfOtrWCvrIPhEFefnoGMmEiTzXiKkVP3rfnKcojNlRIg+2/13akaidn/H2NLxrQBcG+0enzLiKQcO/CkD8Pf/LlshQmB9suejff
        /o1ngWPdnU1kN0OxhtBEeEW4O1FG616fbWU6BhxRfIfnv5+TSHHIxZVcF4AAAA==
        """)
}
